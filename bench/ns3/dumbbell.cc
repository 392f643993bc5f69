// SPDX-License-Identifier: GPL-2.0-only
// The dumbbell of bench/cases.py in ns-3: CUBIC flows, drop-tail, samples written to a file.
//
// What the scenario leaves open is as ns-3 has it by default: applications that write 512 bytes at a
// time, and a traffic control layer in front of each device. With --lean=1 it is what makes ns-3
// fastest: writes of one segment, and devices whose own queues drop.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <fstream>
#include <iostream>
#include <memory>
#include <vector>

using namespace ns3;

namespace
{

struct Options
{
    std::string rate = "100Mbps";
    std::string access = "1Gbps";
    std::string samples = "/dev/null";
    uint32_t hosts = 1;
    uint32_t flows = 1; // of each pair of hosts
    uint32_t queuePackets = 165;
    uint32_t bufferBytes = 8 << 20;
    double durationS = 30;
    double periodS = 0.1;
    bool lean = false;
};

// The newest values of one sender, kept by its trace sources.
struct Sender
{
    uint32_t cwndBytes = 0;
    uint32_t ssthreshBytes = 0;
    double rttMs = 0;
    uint64_t segments = 0;

    void Cwnd(uint32_t, uint32_t now)
    {
        cwndBytes = now;
    }

    void Ssthresh(uint32_t, uint32_t now)
    {
        ssthreshBytes = now;
    }

    void Rtt(Time, Time now)
    {
        rttMs = now.GetSeconds() * 1e3;
    }

    void Sent(Ptr<const Packet> packet, const TcpHeader&, Ptr<const TcpSocketBase>)
    {
        segments += packet->GetSize() > 0;
    }
};

// What waits for one device: in its own queue, and in the layer above it.
struct Backlog
{
    Ptr<Queue<Packet>> queue;
    Ptr<QueueDisc> disc;

    explicit Backlog(Ptr<NetDevice> device)
        : queue(DynamicCast<PointToPointNetDevice>(device)->GetQueue()),
          disc(device->GetNode()->GetObject<TrafficControlLayer>()->GetRootQueueDiscOnDevice(
              device))
    {
    }

    uint32_t Packets() const
    {
        return queue->GetNPackets() + (disc ? disc->GetNPackets() : 0);
    }

    uint32_t Bytes() const
    {
        return queue->GetNBytes() + (disc ? disc->GetNBytes() : 0);
    }

    uint32_t Drops() const
    {
        return queue->GetTotalDroppedPackets() +
               (disc ? disc->GetStats().nTotalDroppedPackets : 0);
    }
};

class Dumbbell
{
  public:
    explicit Dumbbell(const Options& options);
    void Run();

  private:
    NetDeviceContainer Link(PointToPointHelper& helper, Ptr<Node> a, Ptr<Node> b);
    void AddPair();
    void Watch(Ptr<BulkSendApplication> application, Sender* sender);
    void Sample();

    Options m_options;
    NodeContainer m_routers;
    InternetStackHelper m_stack;
    PointToPointHelper m_edge;
    Ipv4AddressHelper m_addresses{"10.0.0.0", "255.255.255.252"};
    Ptr<UniformRandomVariable> m_jitter = CreateObject<UniformRandomVariable>();
    std::vector<std::unique_ptr<Sender>> m_senders;
    std::vector<Backlog> m_backlogs;
    ApplicationContainer m_sinks;
    std::ofstream m_samples;
    uint64_t m_written = 0;
};

Dumbbell::Dumbbell(const Options& options)
    : m_options(options),
      m_samples(options.samples)
{
    m_routers.Create(2);
    m_stack.SetIpv6StackInstall(!options.lean);
    m_stack.Install(m_routers);

    PointToPointHelper link;
    link.SetChannelAttribute("Delay", StringValue("6ms"));
    link.SetDeviceAttribute("DataRate", StringValue(options.rate));
    const QueueSizeValue limit(QueueSize(QueueSizeUnit::PACKETS, options.queuePackets));
    if (options.lean)
    {
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", limit);
        Link(link, m_routers.Get(0), m_routers.Get(1));
    }
    else
    {
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
        TrafficControlHelper fifo;
        fifo.SetRootQueueDisc("ns3::FifoQueueDisc", "MaxSize", limit);
        NetDeviceContainer devices = link.Install(m_routers);
        fifo.Install(devices);
        m_addresses.Assign(devices);
        m_addresses.NewNetwork();
        m_backlogs.emplace_back(devices.Get(0));
        m_backlogs.emplace_back(devices.Get(1));
    }

    m_edge.SetChannelAttribute("Delay", StringValue("2ms"));
    m_edge.SetDeviceAttribute("DataRate", StringValue(options.access));
    if (options.lean)
    {
        m_edge.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("100000p"));
    }
    for (uint32_t i = 0; i < options.hosts; i++)
    {
        AddPair();
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
}

// Connect two nodes and give both ends addresses.
NetDeviceContainer
Dumbbell::Link(PointToPointHelper& helper, Ptr<Node> a, Ptr<Node> b)
{
    if (m_options.lean)
    {
        helper.DisableFlowControl(); // then no queue discipline is installed with the address
    }
    const NetDeviceContainer devices = helper.Install(a, b);
    m_addresses.Assign(devices);
    m_addresses.NewNetwork();
    m_backlogs.emplace_back(devices.Get(0));
    m_backlogs.emplace_back(devices.Get(1));
    return devices;
}

void
Dumbbell::AddPair()
{
    NodeContainer pair;
    pair.Create(2);
    m_stack.Install(pair);
    Link(m_edge, pair.Get(0), m_routers.Get(0));
    const NetDeviceContainer far = Link(m_edge, m_routers.Get(1), pair.Get(1));
    const Ptr<Ipv4> ip = pair.Get(1)->GetObject<Ipv4>();
    const int32_t interface = ip->GetInterfaceForDevice(far.Get(1));
    const Ipv4Address sink = ip->GetAddress(interface, 0).GetLocal();
    for (uint32_t flow = 0; flow < m_options.flows; flow++)
    {
        const InetSocketAddress address(sink, 5000 + flow);
        PacketSinkHelper receiver("ns3::TcpSocketFactory", address);
        m_sinks.Add(receiver.Install(pair.Get(1)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", address);
        if (m_options.lean)
        {
            bulk.SetAttribute("SendSize", UintegerValue(1448));
        }
        const ApplicationContainer source = bulk.Install(pair.Get(0));
        const Time start = Seconds(m_jitter->GetValue(0, 0.01));
        source.Start(start);
        m_senders.push_back(std::make_unique<Sender>());
        // The application makes its socket when it starts.
        Simulator::Schedule(start + NanoSeconds(1),
                            &Dumbbell::Watch,
                            this,
                            DynamicCast<BulkSendApplication>(source.Get(0)),
                            m_senders.back().get());
    }
}

void
Dumbbell::Watch(Ptr<BulkSendApplication> application, Sender* sender)
{
    const Ptr<Socket> socket = application->GetSocket();
    socket->TraceConnectWithoutContext("CongestionWindow", MakeCallback(&Sender::Cwnd, sender));
    socket->TraceConnectWithoutContext("SlowStartThreshold",
                                       MakeCallback(&Sender::Ssthresh, sender));
    socket->TraceConnectWithoutContext("RTT", MakeCallback(&Sender::Rtt, sender));
    socket->TraceConnectWithoutContext("Tx", MakeCallback(&Sender::Sent, sender));
}

void
Dumbbell::Sample()
{
    const double now = Simulator::Now().GetSeconds();
    for (size_t i = 0; i < m_senders.size(); i++)
    {
        const Sender& one = *m_senders[i];
        m_samples << now << ",flow," << i << ',' << one.cwndBytes << ',' << one.ssthreshBytes
                  << ',' << one.rttMs << '\n';
    }
    for (size_t i = 0; i < m_backlogs.size(); i++)
    {
        const Backlog& one = m_backlogs[i];
        m_samples << now << ",queue," << i << ',' << one.Packets() << ',' << one.Bytes() << ','
                  << one.Drops() << '\n';
    }
    m_written += m_senders.size() + m_backlogs.size();
    Simulator::Schedule(Seconds(m_options.periodS), &Dumbbell::Sample, this);
}

void
Dumbbell::Run()
{
    Simulator::Schedule(Seconds(m_options.periodS), &Dumbbell::Sample, this);
    Simulator::Stop(Seconds(m_options.durationS));
    Simulator::Run();

    uint64_t received = 0;
    for (uint32_t i = 0; i < m_sinks.GetN(); i++)
    {
        received += DynamicCast<PacketSink>(m_sinks.Get(i))->GetTotalRx();
    }
    uint64_t segments = 0;
    for (const auto& one : m_senders)
    {
        segments += one->segments;
    }
    std::cout << std::fixed << "{\"goodput_bps\": " << received * 8 / m_options.durationS
              << ", \"segments\": " << segments << ", \"drops\": " << m_backlogs[0].Drops()
              << ", \"samples\": " << m_written << "}" << std::endl;
}

// As Linux: segments of 1448 bytes with timestamps, an ACK for every second one or after 40 ms, a
// first window of ten segments, and retransmission timeouts of 200 ms or more.
void
SetLinuxDefaults(uint32_t bufferBytes)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(bufferBytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(bufferBytes));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
}

} // namespace

int
main(int argc, char* argv[])
{
    Options options;
    CommandLine arguments(__FILE__);
    arguments.AddValue("rate", "rate of the bottleneck", options.rate);
    arguments.AddValue("access", "rate of each access link", options.access);
    arguments.AddValue("hosts", "pairs of hosts", options.hosts);
    arguments.AddValue("flows", "flows of each pair", options.flows);
    arguments.AddValue("queue", "packets in the bottleneck's queue", options.queuePackets);
    arguments.AddValue("buffer", "bytes of the sockets' buffers", options.bufferBytes);
    arguments.AddValue("duration", "seconds simulated", options.durationS);
    arguments.AddValue("period", "seconds between two samples", options.periodS);
    arguments.AddValue("samples", "file of samples", options.samples);
    arguments.AddValue("lean", "choose what makes ns-3 fastest", options.lean);
    arguments.Parse(argc, argv);

    SetLinuxDefaults(options.bufferBytes);
    RngSeedManager::SetSeed(1);
    {
        Dumbbell dumbbell(options);
        dumbbell.Run();
    }
    Simulator::Destroy();
    return 0;
}
